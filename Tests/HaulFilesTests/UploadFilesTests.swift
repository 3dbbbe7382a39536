import HaulCore
import HaulFiles
import HaulLibC
import HaulTesting
import Testing

/// The file that an upload reads, and the one that keeps what its next run needs.
@Suite struct UploadFilesTests {
  private static let directory = "/uploads"

  private func request(_ source: String = "/d/f") throws -> UploadRequest {
    UploadRequest(source, to: try ResourceURL("https://h.example/files/?key=secret"))
  }

  private func record(_ number: Int) -> UploadRecord {
    let status = FileStatus(
      kind: .regular, device: 1, inode: 2, size: 1000, owner: 0, mode: 0o644, links: 1, modified: 3)
    return UploadRecord(
      address: "https://h.example/files/\(number)", source: SourceIdentity(status))
  }

  @Test func `A source that became shorter is reported, and not padded`() throws {
    let scratch = try Scratch()
    let content = sampleBytes(1000)
    try scratch.put(content, as: "f")
    let source = try UploadSource("\(scratch.path)/f", on: scratch.disk)
    defer { source.close() }
    #expect(try source.read(600, at: 400) == Array(content[400...]))
    try scratch.directory.open("f", writing: true).truncate(to: 500)
    #expect(throws: TransferError.self) { try source.read(600, at: 400) }
    let error = #expect(throws: TransferError.self) { try source.check() }
    #expect(error?.code == .sourceChanged)
  }

  @Test
  func `A source that was replaced under its name has changed; its bytes stay those of one file`()
    throws
  {
    let scratch = try Scratch()
    let content = sampleBytes(1000)
    try scratch.put(content, as: "f")
    let source = try UploadSource("\(scratch.path)/f", on: scratch.disk)
    defer { source.close() }
    try scratch.directory.unlink("f")
    try scratch.put(sampleBytes(1000, seed: 2), as: "f")
    #expect(try source.read(1000, at: 0) == content)
    let error = #expect(throws: TransferError.self) { try source.check() }
    #expect(error?.code == .sourceChanged)
  }

  @Test func `A link to a name that is not UTF-8 is an error that says so`() throws {
    let scratch = try Scratch()
    // With U+FFFD in place of the byte, this would be the file.
    try scratch.put(sampleBytes(10), as: "a\u{FFFD}")
    let target = (Array("\(scratch.path)/a".utf8) + [0xFF, 0]).map { CChar(bitPattern: $0) }
    let descriptor = open(target, O_CREAT | O_WRONLY, 0o600)
    try #require(descriptor >= 0)
    close(descriptor)
    try #require(symlink(target, "\(scratch.path)/link") == 0)
    let error = #expect(throws: TransferError.self) {
      try UploadSource("\(scratch.path)/link", on: scratch.disk)
    }
    #expect(error?.code == .sourceUnreadable)
    #expect(error?.message.contains("leads to a name that is not UTF-8; rename that") == true)
  }

  @Test func `A file of a listed directory is sent only if it is the one that was listed`() throws {
    let scratch = try Scratch()
    for (name, seed) in [("f", UInt64(1)), ("private", 2)] {
      try scratch.put(sampleBytes(100, seed: seed), as: name)
    }
    let path = "\(scratch.path)/f"
    let listed = FileIdentity(try #require(try scratch.directory.status(of: "f")))
    try UploadSource(path, expected: listed, on: scratch.disk).close()
    try scratch.directory.rename("f", to: "kept", replacing: false)
    try #require(symlink("\(scratch.path)/private", path) == 0)
    let error = #expect(throws: TransferError.self) {
      try UploadSource(path, expected: listed, on: scratch.disk)
    }
    #expect(error?.code == .sourceChanged)
    // The control: without a listing, the link is followed.
    try UploadSource(path, on: scratch.disk).close()
  }

  @Test func `A source that was written to has changed, though it got its old date back`() throws {
    let scratch = try Scratch()
    try scratch.put(sampleBytes(1000), as: "f")
    let source = try UploadSource("\(scratch.path)/f", on: scratch.disk)
    defer { source.close() }
    try source.check()
    let before = try #require(try scratch.directory.status(of: "f"))
    var status = stat()
    #expect(stat("\(scratch.path)/f", &status) == 0)
    let file = open("\(scratch.path)/f", O_WRONLY)
    defer { close(file) }
    // The clock of some file systems is slow: until it has advanced, nothing is seen.
    repeat {
      #expect(pwrite(file, "x", 1, 500) == 1)
      #expect(futimens(file, [status.st_atim, status.st_mtim]) == 0)
    } while try scratch.directory.status(of: "f")?.changed == before.changed
    #expect(try scratch.directory.status(of: "f")?.modified == before.modified)
    let error = #expect(throws: TransferError.self) { try source.check() }
    #expect(error?.code == .sourceChanged)
  }

  @Test func `A source with another mode or another link has not changed`() throws {
    let scratch = try Scratch()
    try scratch.put(sampleBytes(1000), as: "f")
    let source = try UploadSource("\(scratch.path)/f", on: scratch.disk)
    defer { source.close() }
    #expect(chmod("\(scratch.path)/f", 0o640) == 0)
    try source.check()
    #expect(link("\(scratch.path)/f", "\(scratch.path)/g") == 0)
    try source.check()
  }

  @Test func `The next run of the same upload finds its record, and another upload does not`()
    throws
  {
    let machine = SimulatedMachine(seed: 1)
    let disk = machine.startProcess()
    let first = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(first.record == nil)
    try first.store(record(1))
    try first.store(record(22))
    first.close()
    let other = try UploadRecordFile(of: request("/d/g"), in: Self.directory, on: disk)
    #expect(other.record == nil)
    let next = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(next.record == record(22))
    next.remove()
    #expect(try UploadRecordFile(of: request(), in: Self.directory, on: disk).record == nil)
  }

  @Test func `A shorter record replaces a longer one, and one that cannot be read is known`() throws
  {
    let machine = SimulatedMachine(seed: 1)
    let disk = machine.startProcess()
    let first = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(!first.isDamaged)
    try first.store(record(1_000_000))
    try first.store(record(2))
    first.close()
    let next = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(next.record == record(2) && !next.isDamaged)
    next.close()
    let path = "\(Self.directory)/\(try request().recordName)"
    disk.put(Array(repeating: 0, count: 50), at: path)
    let damaged = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(damaged.record == nil && damaged.isDamaged)
  }

  @Test func `A client over TCP does not find the record of its owner's upload, nor the reverse`()
    throws
  {
    let disk = SimulatedMachine(seed: 1).startProcess()
    var ofClient = try request()
    ofClient.roots = ["/d"]
    let own = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    try own.store(record(1))
    let other = try UploadRecordFile(of: ofClient, in: Self.directory, on: disk)
    #expect(other.record == nil)
    try other.store(record(22))
    for file in [own, other] { file.close() }
    let again = try UploadRecordFile(of: request(), in: Self.directory, on: disk)
    #expect(again.record == record(1))
    // Its roots may change with the next start of the daemon.
    ofClient.roots = []
    #expect(
      try UploadRecordFile(of: ofClient, in: Self.directory, on: disk).record == record(22))
  }

  @Test func `Two processes do not run one upload at once`() throws {
    let machine = SimulatedMachine(seed: 1)
    let first = try UploadRecordFile(of: request(), in: Self.directory, on: machine.startProcess())
    let error = #expect(throws: TransferError.self) {
      try UploadRecordFile(of: request(), in: Self.directory, on: machine.startProcess())
    }
    #expect(error?.code == .inUse)
    #expect(error?.message.contains("both would go on with one record") == true)
    first.close()
    _ = try UploadRecordFile(of: request(), in: Self.directory, on: machine.startProcess())
  }

  @Test func `Uploads of other files, and to other addresses, share the directory`() throws {
    let machine = SimulatedMachine(seed: 1)
    var others = [try request("/d/g"), try request()]
    others[1].url = try ResourceURL("https://h.example/other/")
    let all = try ([request()] + others).map {
      try UploadRecordFile(of: $0, in: Self.directory, on: machine.startProcess())
    }
    for (number, file) in all.enumerated() { try file.store(record(number)) }
    for file in all { file.close() }
    for (number, other) in ([try request()] + others).enumerated() {
      let next = try UploadRecordFile(of: other, in: Self.directory, on: machine.startProcess())
      #expect(next.record == record(number))
    }
  }

  @Test func `A stored record survives a power cut, and a torn one is none`() throws {
    for seed in UInt64(1)...40 {
      for change in 1...8 {
        let machine = SimulatedMachine(seed: seed)
        let file = try UploadRecordFile(
          of: request(), in: Self.directory, on: machine.startProcess())
        machine.crash(afterChanges: change)
        // The process may die during it.
        let isStored = (try? file.store(record(1))) != nil
        machine.losePower()
        let found = try UploadRecordFile(
          of: request(), in: Self.directory, on: machine.startProcess()
        ).record
        #expect(
          found == record(1) || found == nil && !isStored, "seed \(seed), change \(change)")
      }
    }
  }
}
