"""Tools that write data which the package ships."""
