import Testing

/// Expects equality of what a mutating call returned; `#expect` itself cannot make such a call.
func check<Value: Equatable>(
  _ found: Value, is wanted: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(found == wanted, sourceLocation: sourceLocation)
}
