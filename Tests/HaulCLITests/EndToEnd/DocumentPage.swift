import Foundation

/// A file of the repository's documentation, as its fenced blocks.
struct DocumentPage {
  struct Block {
    /// The heading above it.
    let section: String
    /// The last line of text above it.
    let before: String
    /// The word behind the opening fence.
    let language: String
    var lines: [String] = []
  }

  private(set) var blocks: [Block] = []

  /// The repository.
  static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in
    url.deletingLastPathComponent()
  }

  static func text(_ name: String) throws -> String {
    try String(contentsOf: root.appending(path: name), encoding: .utf8)
  }

  init(_ name: String) throws {
    var (section, before, isOpen) = ("", "", false)
    for line in try Self.text(name).components(separatedBy: "\n") {
      if line.hasPrefix("```") {
        isOpen.toggle()
        guard isOpen else { continue }
        let language = String(line.dropFirst(3))
        blocks.append(Block(section: section, before: before, language: language))
        before = ""
      } else if isOpen {
        blocks[blocks.count - 1].lines.append(line)
      } else if line.hasPrefix("## ") || line.hasPrefix("### ") {
        section = String(line.drop { $0 == "#" }.dropFirst())
      } else if !line.isEmpty {
        before = line
      }
    }
  }

  /// The blocks of a section that have no language: command lines and files.
  func plain(_ section: String) -> [[String]] {
    blocks.filter { $0.section == section && $0.language.isEmpty }.map(\.lines)
  }
}
