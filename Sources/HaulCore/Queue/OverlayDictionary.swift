/// A dictionary whose changes can be kept in a layer of their own, until they are applied or
/// dropped. A draft shares what lies below with the original.
struct OverlayDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What a draft changes; nil is a removal.
  typealias Layer = [Key: Value?]

  private var base: [Key: Value]
  /// Nil unless this is a draft.
  private var layer: Layer?

  init(_ base: [Key: Value] = [:]) { self.base = base }

  /// Keeps changes in a layer from now on, which is empty. O(1).
  mutating func becomeDraft() { layer = [:] }

  var isDraft: Bool { layer != nil }

  /// What the draft has changed so far.
  var changes: Layer { layer ?? [:] }

  /// Makes the changes of a draft of this dictionary. O(changes).
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
        // Taken out of the layer, so that it is changed in place.
        var value = layer?.removeValue(forKey: key) ?? base[key]
        defer { layer?.updateValue(value, forKey: key) }
        yield &value
      }
    }
  }

  /// The original's, without what a draft has changed.
  var unlayered: [Key: Value] {
    get { base }
    set { base = newValue }
  }
}
