/// What of directories is not sent.
extension UploadTree {
  /// What is done with the symbolic links in a directory.
  package enum Links: String, CaseIterable, Sendable { case skip, follow }

  /// Paths of one kind.
  package struct Paths: Hashable, Sendable {
    private(set) var count = 0
    private(set) var first = ""

    mutating func add(_ path: String) {
      if count == 0 { first = path }
      count += 1
    }

    mutating func add(_ other: Paths) {
      if count == 0 { first = other.first }
      count += other.count
    }

    /// How many there are, and one of them.
    func text(_ one: String, _ several: String) -> String {
      count == 1 ? "\(first): \(one)" : "\(Units.count(count)) \(several), such as \(first)"
    }
  }

  package struct LeftOut: Hashable, Sendable {
    /// Symbolic links that were not followed.
    package var links = Paths()
    /// Those that were, and lead to nothing, or to a directory that they are in.
    package var lost = Paths()
    /// Directories that may not be read.
    package var closed = Paths()
    /// Devices, sockets and FIFOs, which have no bytes to keep.
    package var special = Paths()

    package init() {}

    mutating func add(_ other: LeftOut) {
      links.add(other.links)
      lost.add(other.lost)
      closed.add(other.closed)
      special.add(other.special)
    }

    /// Why a run is no success although it has sent everything else; nil if that was asked for.
    func problem(_ asked: Links?) -> String? {
      var problems: [String] = []
      if closed.count > 0 {
        problems.append(
          closed.text("a directory that cannot be read", "directories cannot be read")
            + "; left out")
      }
      if lost.count > 0 {
        problems.append(
          lost.text("a link that cannot be followed", "links cannot be followed") + "; left out")
      }
      if links.count > 0, asked == nil {
        problems.append(
          links.text("a symbolic link was left out", "symbolic links were left out")
            + "; --links follow sends what they lead to, --links skip leaves them out")
      }
      return problems.isEmpty ? nil : problems.joined(separator: "; ")
    }

    /// What the user should know before the start.
    func notes(_ asked: Links?) -> [String] {
      var notes: [String] = []
      if special.count > 0 {
        notes.append(
          special.text("no file; left out", "devices, sockets or FIFOs are left out"))
      }
      if links.count > 0, asked == .skip {
        notes.append(links.text("a symbolic link is left out", "symbolic links are left out"))
      }
      return notes
    }
  }
}
