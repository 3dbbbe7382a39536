import Testing

@Suite struct HaulCLISmoke {}
