import Testing

/// Checks the result of a mutating call, which `#expect` itself cannot make.
func check<Value: Equatable>(
  _ found: Value, is wanted: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(found == wanted, sourceLocation: sourceLocation)
}
