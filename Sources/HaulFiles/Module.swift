enum HaulFilesModule {}
