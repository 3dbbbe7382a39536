"""Parts of Scripts/interop: real servers and proxies, the files they serve, the cases."""
