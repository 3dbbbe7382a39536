/// Which load a slot shows, as a value. A result counts only for the generation that asked for it,
/// and only once.
package struct SlotState: Hashable, Sendable {
  package typealias Generation = UInt64

  package private(set) var generation: Generation = 0
  package private(set) var isWaiting = false

  package init() {}

  /// Begins a load; every older one is void.
  package mutating func begin(isLoaded: Bool) -> Generation {
    generation += 1
    isWaiting = !isLoaded
    return generation
  }

  /// Whether the result of this generation is still to come.
  package func awaits(_ generation: Generation) -> Bool {
    isWaiting && generation == self.generation
  }

  /// Whether the result of this generation is to be shown.
  package mutating func accepts(_ generation: Generation) -> Bool {
    guard awaits(generation) else { return false }
    isWaiting = false
    return true
  }

  package mutating func cancel() {
    generation += 1
    isWaiting = false
  }
}
