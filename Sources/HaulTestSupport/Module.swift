enum HaulTestSupportModule {}
