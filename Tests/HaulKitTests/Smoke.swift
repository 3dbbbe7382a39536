import Testing

@Suite struct HaulKitSmoke {}
