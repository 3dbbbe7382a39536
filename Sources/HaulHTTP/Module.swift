enum HaulHTTPModule {}
