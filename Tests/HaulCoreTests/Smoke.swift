import Testing

@Suite struct HaulCoreSmoke {}
