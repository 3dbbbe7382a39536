/// A dictionary that can store its changes in a layer until they are applied or dropped. A draft
/// shares the base with the original.
struct OverlayDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The changes of a draft; nil is a removal.
  typealias Layer = [Key: Value?]

  private var base: [Key: Value]
  /// Nil unless this is a draft.
  private var layer: Layer?

  init(_ base: [Key: Value] = [:]) { self.base = base }

  /// Stores later changes in a new layer. O(1).
  mutating func becomeDraft() { layer = [:] }

  var isDraft: Bool { layer != nil }

  /// The changes of the draft so far.
  var changes: Layer { layer ?? [:] }

  /// Applies the changes of a draft of this dictionary. O(changes).
  mutating func apply(_ changes: Layer) {
    guard !changes.isEmpty else { return }
    for (key, value) in changes { base[key] = value }
  }

  subscript(key: Key) -> Value? {
    get {
      if let changed = layer?[key] { return changed }
      return base[key]
    }
    _modify {
      if layer == nil {
        yield &base[key]
      } else {
        // Removed from the layer first, so that it is changed in place.
        var value = layer?.removeValue(forKey: key) ?? base[key]
        defer { layer?.updateValue(value, forKey: key) }
        yield &value
      }
    }
  }

  /// The base, without the changes of a draft.
  var unlayered: [Key: Value] {
    get { base }
    set { base = newValue }
  }
}
