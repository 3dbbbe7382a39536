import HaulCLI
import HaulCore
import Testing

/// `--checksum-file` with lists of this machine.
@Suite struct ChecksumListPlanTests {
  private let a = String(repeating: "a", count: 64)
  private let b = String(repeating: "b", count: 64)

  private func checksums(
    _ arguments: [String], _ list: String, _ more: [String: String] = [:]
  ) throws -> [[String]] {
    let files = sources(more.merging(["SUMS": list]) { $1 })
    return try plan(["--checksum-file", "SUMS"] + arguments, files).requests
      .map { $0.checksums.map(\.description) }
  }

  @Test func `Each file has the digest of its address, or of the name that it gets`() throws {
    let list = "\(a)  x.iso\n\(b) *dir/y z.iso\n"
    #expect(
      try checksums(["https://h/p/x.iso?k=1", "https://h/dir/y%20z.iso"], list)
        == [["sha-256=\(a)"], ["sha-256=\(b)"]])
    #expect(try checksums(["-o", "d/x.iso", "https://h/latest"], list) == [["sha-256=\(a)"]])
    let add = try Invocation.plan(
      ["add", "--checksum-file", "SUMS", "https://h/x.iso"], from: sources(["SUMS": list]))
    #expect((add as? AddPlan)?.requests.first?.download?.checksums.first?.hex == a)
  }

  @Test func `A file that the list does not name is an error, unless that is asked for`() throws {
    let files = sources(["SUMS": "\(a)  x.iso\n"])
    let words = ["--checksum-file", "SUMS", "https://h/x.iso", "https://u:secret@h/z?token=secret"]
    let message = try #require(refusal(words, files))
    #expect(message.contains("SUMS has no digest of it") && !message.contains("secret"))
    let plan = try plan(words + ["--ignore-missing"], files)
    #expect(plan.requests.map(\.checksums.count) == [1, 0])
    #expect(
      refusal(["--ignore-missing", "https://h/x"], files)?.contains("--checksum-file") == true)
  }

  @Test func `A digest alone is that of the only file`() throws {
    #expect(try checksums(["https://h/x"], a) == [["sha-256=\(a)"]])
    let files = sources(["SUMS": a, "list": "https://h/x\n"])
    #expect(refusal(["--checksum-file", "SUMS", "https://h/x", "https://h/y"], files) != nil)
    #expect(refusal(["--checksum-file", "SUMS", "-i", "list"], files) != nil)
  }

  @Test func `Digests of several lists and of the command line must all match`() throws {
    let md5 = String(repeating: "0", count: 32)
    let words = ["--checksum", "md5=\(md5)", "https://h/x"]
    #expect(try checksums(words, "\(a)  x") == [["md5=\(md5)", "sha-256=\(a)"]])
    let files = sources(["SUMS": "\(a)  x\n\(b)  x\n", "ONE": "\(a)  x\n", "NONE": "nothing\n"])
    let two = refusal(["--checksum-file", "SUMS", "https://h/x"], files)
    #expect(two?.contains("two different digests of sha-256") == true)
    #expect(
      refusal(["--checksum-file", "ONE", "--checksum", "sha256=\(b)", "https://h/x"], files) != nil)
    #expect(
      refusal(["--checksum-file", "NONE", "https://h/x"], files)?.contains("no digest") == true)
    #expect(
      refusal(["--checksum-file", "gone", "https://h/x"], files)?.contains("no such") == true)
    let row = sources(["SUMS": "\(a)  x\n", "list": "https://h/y\n checksum=sha256=\(b)\n"])
    #expect(
      try plan(["--checksum-file", "SUMS", "-i", "list"], row).requests[0].checksums.first?.hex == b
    )
  }

  @Test func `Weak digests and lines that are not understood are named`() throws {
    let list = "\(String(repeating: "0", count: 32))  x\n???\n"
    let notes = try plan(["--checksum-file", "S", "https://h/x"], sources(["S": list])).notes
    #expect(notes.contains { $0.contains("S has only md5") })
    #expect(notes.contains { $0.contains("1 lines of it are not understood") })
  }

  @Test func `What a command names is not looked for`() throws {
    #expect(
      refusal(["--checksum-from", "auto", "--checksum", "sha256=\(a)", "https://h/x"], sources())?
        .contains("leave it out") == true)
    let files = sources(
      ["/h/.config/haul/haul.conf": "checksum-from = auto\n", "SUMS": "\(a)  x\n"],
      environment: ["HOME": "/h"])
    #expect(try plan(["--checksum-file", "SUMS", "https://h/x"], files).requests.count == 1)
  }

  @Test func `verify reads the files of a list, or one of them`() throws {
    let list = "\(a)  x\n\(b)  d/y\n\(String(repeating: "0", count: 32))  x\n"
    let files = sources(["SUMS": list, "z.sha256": a, "-": list])
    func verify(_ words: String...) throws -> [String: Int]? {
      let plan = try Invocation.plan(["verify"] + words, from: files) as? VerifyListPlan
      return plan.map {
        Dictionary(uniqueKeysWithValues: $0.files.map { ($0.path, $0.checksums.count) })
      }
    }
    #expect(try verify("-c", "SUMS") == ["x": 2, "d/y": 1])
    #expect(try verify("--check", "-") == ["x": 2, "d/y": 1])
    #expect(try verify("x", "--checksum-file", "SUMS") == ["x": 2])
    #expect(try verify("/else/y", "-c", "SUMS") == ["/else/y": 1])
    #expect(try verify("-c", "z.sha256") == ["z": 1])
    #expect(try verify("a/b", "-c", "z.sha256") == ["a/b": 1])
    #expect(refusal(["verify", "-c", "SUMS", "q"], of: files)?.contains("no digest of q") == true)
  }
}
