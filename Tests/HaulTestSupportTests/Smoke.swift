import Testing

@Suite struct HaulTestSupportSmoke {}
