import HaulCore
import Testing

/// Paths whose characters join a slash or a dot with what follows or precedes it.
@Suite struct FilePathTests {
  /// In Swift, none of these is a `/` followed by a name.
  static let joining = ["/\u{301}x", "/x\u{600}/y", "\u{600}/..", "/..\u{301}", "/\u{200D}"]

  @Test(arguments: joining)
  func `a combining mark after a slash, or a sign before it, hides no name`(path: String) {
    let bytes = path.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
    #expect(FilePath(path).names.map { Array($0.utf8) } == bytes)
  }

  @Test func `.. is found beside such characters`() {
    #expect(FilePath("/r/\u{301}x\u{600}/../secret").leadsUp)
    #expect(FilePath("/r/\u{600}/..").leadsUp)
    #expect(!FilePath("/r/..\u{301}/a").leadsUp, "a name of its own")
    #expect(!FilePath("/r/...").leadsUp)
  }

  @Test func `two names that only Swift finds equal are two files`() {
    let (composed, decomposed) = ("/r/\u{E9}", "/r/e\u{301}")
    #expect(composed == decomposed, "as texts")
    #expect(FilePath(composed) != FilePath(decomposed))
    #expect(Set([FilePath(composed), FilePath(decomposed)]).count == 2)
    #expect(FilePath("\(composed)/f").names(below: FilePath(decomposed)) == nil)
    #expect(FilePath("\(composed)/f").names(below: FilePath(composed)) == ["f"])
  }

  @Test func `what is below a directory is known by whole names`() {
    func names(_ path: String, _ root: String) -> [String]? {
      FilePath(path).names(below: FilePath(root))?.map(String.init)
    }
    #expect(names("/r/a/b", "/r") == ["a", "b"])
    #expect(names("/r", "/r/") == [])
    #expect(names("/r/a", "/") == ["r", "a"])
    #expect(names("/rx/a", "/r") == nil)
    #expect(names("/r/a/../../x", "/r") == nil)
    #expect(names("r/a", "/r") == nil)
    #expect(names("/", "/r") == nil)
  }

  @Test func `directory, name and prefixes`() {
    #expect("/a/\u{301}b".pathParts == ("/a", "\u{301}b"))
    #expect("/a".pathParts == ("/", "a"))
    #expect("a".pathParts == (".", "a"))
    #expect("\u{600}/b".pathParts == ("\u{600}", "b"))
    #expect("/a//b/".pathPrefixes == ["/a", "/a/b"])
    #expect("a/\u{301}b".pathPrefixes == ["a", "a/\u{301}b"])
    #expect("/a/".appendingPath("b") == "/a/b")
    #expect("/a\u{301}".appendingPath("b") == "/a\u{301}/b")
    #expect(["/", "//", "/a//", "a", ""].map(\.withoutLastSlashes) == ["/", "/", "/a", "a", ""])
    #expect("/a/b//".lastPathName == "b")
    #expect("//".lastPathName == nil)
  }
}
