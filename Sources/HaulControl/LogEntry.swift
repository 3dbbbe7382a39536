package import HaulCore

/// A line of what the daemon keeps about its transfers, as JSON: a start, a stop, an end, a long
/// wait, or what happens to the queue.
package struct LogEntry: Codable, Hashable, Sendable {
  package enum Kind: String, Codable, Sendable {
    case started, completed, failed, cancelled, waiting
    /// It ran, and now waits, is paused or was removed.
    case stopped
    /// A host does not answer, or answers again: `name` is the host.
    case outage, answered
    /// A window of the schedule is open, or closed.
    case opened, closed
  }

  /// In seconds since 1970.
  package var time: Double
  package var kind: Kind
  /// Nil for a wait of several, and for what happens to the queue.
  @Nullable package var id: TransferID?
  /// The name of the file, the program or the step.
  @Nullable package var name: String?
  @Nullable package var group: String?
  /// Without secrets.
  @Nullable package var url: String?
  @Nullable package var path: String?
  @Nullable package var bytes: Int64?
  /// Why it failed or waits.
  @Nullable package var code: String?
  /// The same, for people, without control characters.
  @Nullable package var message: String?
  /// The code of what may be wrong with the file of a completed one.
  @Nullable package var warning: String?
  /// Of a completed one, as in its result.
  @Nullable package var isUnchanged: Bool?
  @Nullable package var kept: String?
  /// One line for a person, without control characters.
  package var text: String

  package init(_ kind: Kind, _ text: String, time: Double) {
    (self.kind, self.text, self.time) = (kind, text, time)
  }

  enum CodingKeys: String, CodingKey {
    case time, kind, id, name, group, url, path, bytes, code, message, warning
    case isUnchanged = "is_unchanged"
    case kept, text
  }

  /// A line about the queue.
  /// - Parameter origin: whose word the schedule is.
  package init(_ note: QueueNote, by origin: String, time: Double) {
    let text = TerminalText.escaped(note.text)
    switch note {
    case .outage(let host, _, _):
      self.init(.outage, text, time: time)
      (name, code) = (host, "host-outage")
    case .answered(let host, _):
      self.init(.answered, text, time: time)
      name = host
    case .schedule(let isOpen, _):
      self.init(isOpen ? .opened : .closed, "\(text) (as \(origin) says)", time: time)
      code = isOpen ? nil : "schedule"
    }
    message = self.text
  }

  package var isEnd: Bool {
    switch kind {
    case .completed, .failed, .cancelled: true
    case .started, .stopped, .waiting, .outage, .answered, .opened, .closed: false
    }
  }
}

/// The files of these lines: a new one is begun when the present one is long, and the one before is
/// kept.
package struct LogFiles: Hashable, Sendable {
  package let path: String
  package var former: String { "\(path).old" }

  /// The length, in bytes, from which a new file is begun.
  package static let longest = 8 << 20
  /// No line is longer: an address has at most 64 KiB.
  package static let longestLine = 512 << 10

  package init(path: String) { self.path = path }
}
