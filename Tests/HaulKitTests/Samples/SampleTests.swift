import FoundationEssentials
import Testing

/// The samples in the documents.
@Suite struct SampleTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private func lines(_ name: String) throws -> [String] {
    try String(contentsOf: Self.root.appending(path: name), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters { $0 == " " } }
  }

  /// The blocks of Swift in a document, without its imports and empty lines.
  private func samples(_ name: String) throws -> [[String]] {
    var samples: [[String]] = []
    var isInside = false
    for line in try lines(name) {
      if line == "```swift" {
        isInside = true
        samples.append([])
      } else if line == "```" {
        isInside = false
      } else if isInside, !line.isEmpty, !line.hasPrefix("import ") {
        samples[samples.count - 1].append(line)
      }
    }
    return samples
  }

  @Test(arguments: [
    ("README.md", 1), ("docs/library.md", 31), ("docs/events.md", 1), ("docs/waiting.md", 2),
    ("docs/library-reference.md", 2), ("docs/cache.md", 2),
    ("Sources/HaulKit/HaulKit.docc/HaulKit.md", 1),
    ("Sources/HaulCache/HaulCache.docc/HaulCache.md", 1),
  ])
  func `compile as printed`(document: String, count: Int) throws {
    let names = ["Samples", "PathSamples", "TestingSamples", "../../HaulCacheTests/CacheSamples"]
    let compiled = try names.flatMap {
      try lines("Tests/HaulKitTests/Samples/\($0).swift")
    }.filter { !$0.isEmpty }
    let samples = try samples(document)
    #expect(samples.count == count)
    for sample in samples {
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: sample) }
      #expect(isThere, "not compiled in Samples: \(sample)")
    }
  }

  @Test func `are all checked: no other document has one`() throws {
    let paths = ["docs", "docs/decisions"].flatMap { directory in
      ((try? FileManager.default.contentsOfDirectory(
        atPath: Self.root.appending(path: directory).path)) ?? [])
        .filter { $0.hasSuffix(".md") }.map { "\(directory)/\($0)" }
    }
    let compiled = ["library", "events", "waiting", "library-reference", "cache"].map {
      "docs/\($0).md"
    }
    #expect(compiled.allSatisfy(paths.contains))
    for path in paths where !compiled.contains(path) {
      #expect(try samples(path).isEmpty, "\(path)")
    }
  }

  @Test func `and the glossary names existing files`() throws {
    let sources = try ["Sources", "Tools"].flatMap {
      try FileManager.default.subpathsOfDirectory(atPath: Self.root.appending(path: $0).path)
    }
    let files = Set(sources.compactMap { $0.split(separator: "/").last.map(String.init) })
    let named = try String(
      contentsOf: Self.root.appending(path: "docs/glossary.md"), encoding: .utf8
    ).split(separator: "`").map(String.init).filter { $0.hasSuffix(".swift") }
    #expect(named.count > 50)
    for name in named { #expect(files.contains(name), "the glossary names \(name)") }
  }

  @Test func `and the table of promises names existing suites`() throws {
    let tests = Self.root.appending(path: "Tests").path
    let sources = try FileManager.default.subpathsOfDirectory(atPath: tests)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: URL(filePath: "\(tests)/\($0)"), encoding: .utf8) }
    let words = Set(sources.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init))
    let table = try String(
      contentsOf: Self.root.appending(path: "docs/behaviours.md"), encoding: .utf8)
    let named = table.split(separator: "`").map(String.init).filter { name in
      ["Tests", "Cases", "Runs"].contains { name.hasSuffix($0) } && !name.contains(" ")
    }
    #expect(named.count > 80)
    for name in named { #expect(words.contains(name), "the table names \(name)") }
  }
}

extension Substring {
  fileprivate func trimmingCharacters(_ isTrimmed: (Character) -> Bool) -> String {
    String(drop(while: isTrimmed).reversed().drop(while: isTrimmed).reversed())
  }
}
