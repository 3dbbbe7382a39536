enum HaulCLIModule {}
