/// What speaks for a change of the file on the server, and what was done about it in this run.
package struct ChangeEvidence: Sendable {
  /// Another version, which an additional connection was shown.
  private var doubt: DownloadMachine.Version?
  /// The other version that the last confirmation was shown.
  private var lastDifferent: Validator?
  /// Whether the entity tag or the date is new in each answer, so that they identify nothing.
  package private(set) var hasUnstableValidators = false
  /// How often the server was asked again whether the resource has really changed.
  package var confirmations = 0
  /// The fetch that asks. Answers to fetches that were sent before it confirm nothing.
  package var confirming: SegmentID?
  /// How often the run has started over.
  package var restarts = 0
  /// Whether the version changed during this run: then one connection must do.
  package var isOneConnection = false

  package init() {}

  /// The working connections have one version. What another was shown counts at the end: the file
  /// may have been overwritten while it was sent.
  package mutating func noteDoubt(_ seen: DownloadMachine.Version, beside known: Validator) {
    // The same strong tag says that the bytes are the same, so the server's total is wrong.
    if doubt == nil, known.comparison(with: seen.validator) != .same { doubt = seen }
  }

  package mutating func takeDoubt() -> DownloadMachine.Version? {
    defer { doubt = nil }
    return doubt
  }

  /// A tag that is new in each answer identifies no version.
  package mutating func noteDifferent(_ validator: Validator) {
    if let lastDifferent, lastDifferent.comparison(with: validator) == .different {
      hasUnstableValidators = true
    }
    lastDifferent = validator
  }

  /// The version did not change after all.
  package mutating func refute() { (confirmations, lastDifferent) = (0, nil) }

  /// Another version begins.
  package mutating func startOver() { (doubt, lastDifferent) = (nil, nil) }
}
