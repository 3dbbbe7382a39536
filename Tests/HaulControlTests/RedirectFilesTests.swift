import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Files that lead to the web page.
@Suite(.timeLimit(.minutes(10))) struct RedirectFilesTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-redirects-\(UUID().uuidString)").path
  private let clock = ManualClock()
  private let url = "http://127.0.0.1:1/#code=abc"

  private var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  }

  private func files() -> RedirectFiles { RedirectFiles(in: directory, clock: clock) }

  @Test func `only the owner can read one, and it leads to the address`() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = try files().make(for: url, code: "abc")
    for (path, mode) in [(path, 0o600), (directory, 0o700)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains(#"<meta http-equiv="refresh" content="0; url=\#(url)">"#))
    #expect(!path.contains("abc"))
  }

  @Test func `another user's link on the way to their directory is not followed`() throws {
    // Only the superuser can give a link away.
    guard geteuid() == 0 else { return }
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try #require(mkdir(directory, 0o755) == 0 && chmod(directory, 0o1777) == 0)
    try #require(mkdir("\(directory)/target", 0o755) == 0)
    try #require(symlink("target", "\(directory)/dl") == 0)
    try #require(lchown("\(directory)/dl", 12_345, 12_345) == 0)
    let files = RedirectFiles(in: "\(directory)/dl/haul", clock: clock)
    #expect(throws: TransferError.self) { try files.make(for: url, code: "abc") }
    #expect(!FileManager.default.fileExists(atPath: "\(directory)/target/haul"))
  }

  @Test func `an address does not end the attribute that it is in`() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = try files().make(for: #"http://h/"><script>&x"#, code: "abc")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains(#"url=http://h/&quot;>&lt;script>&amp;x">"#))
    #expect(!text.contains("<script"))
  }

  @Test func `one is deleted when its code was used, or is too old, and not before`() async throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let files = files()
    _ = try files.make(for: url, code: "used")
    let old = try files.make(for: url, code: "old")
    files.remove("other")
    #expect(names.count == 2)
    files.remove("used")
    #expect(names.map { "\(directory)/\($0)" } == [old])
    try await until { clock.sleeperCount >= 2 }
    clock.advance(by: .seconds(59))
    #expect(FileManager.default.fileExists(atPath: old))
    clock.advance(by: .seconds(1))
    try await until { !FileManager.default.fileExists(atPath: old) }
  }

  @Test func `those of an earlier daemon are deleted`() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    _ = try files().make(for: url, code: "abc")
    files().removeAll()
    #expect(names.isEmpty)
  }
}
