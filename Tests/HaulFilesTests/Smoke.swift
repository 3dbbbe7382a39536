import Testing

@Suite struct HaulFilesSmoke {}
