"""The names that earlier versions and other toolkits give our settings, and their folders."""
