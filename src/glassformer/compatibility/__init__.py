"""What earlier versions and other toolkits call our settings, and how their folders look."""
