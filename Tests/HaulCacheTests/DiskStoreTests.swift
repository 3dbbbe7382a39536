import Foundation
import HaulCache
import HaulCore
import HaulLibC
import HaulTesting
import Testing

@Suite struct DiskStoreTests {
  static func blob(
    _ resource: String, _ size: Int = 100, representation: UInt64 = 1,
    headers: HeaderFields = ["ETag": "\"1\""]
  ) -> Blob {
    let head = BlobHead(
      resource: resource, address: "http://example.com/\(resource)", vary: [], selection: "",
      representation: representation,
      response: StoredResponse(
        status: 200, headers: headers, requestedAt: 1, answeredAt: 2))
    let body = Data(repeating: UInt8(representation % 251), count: size)
    return Blob(head: head, body: body)
  }

  private func store(_ directory: TemporaryDirectory, limit: Int64 = 1 << 20) -> DiskStore {
    DiskStore(directory: directory.path, limit: limit, maximumAge: 1000)
  }

  @Test func `Another user's directory in a directory for all is no cache`() throws {
    // Only the superuser can give a directory away.
    guard geteuid() == 0 else { return }
    let directory = try TemporaryDirectory()
    try #require(chmod(directory.path, 0o1777) == 0)
    let planted = directory.path + "/planted"
    try #require(mkdir(planted, 0o755) == 0 && chown(planted, 12_345, 12_345) == 0)
    let store = DiskStore(directory: planted, limit: 1 << 20, maximumAge: 1000)
    let error = #expect(throws: TransferError.self) { try store.open(at: 1) }
    #expect(error?.code == .permissionDenied)
    #expect(try FileManager.default.contentsOfDirectory(atPath: planted).isEmpty)
  }

  private func find(_ store: DiskStore, _ resource: String, at now: Double = 10) throws -> Blob? {
    try store.find(resource, at: now) { _, _ in true }
  }

  @Test func `returns what was stored, also to another process's store`() throws {
    let directory = try TemporaryDirectory()
    let first = store(directory)
    try first.store(Self.blob("a"), at: 5)
    #expect(try find(first, "a") == Self.blob("a"))
    let second = store(directory)
    #expect(try find(second, "a") == Self.blob("a"))
    try second.store(Self.blob("a", representation: 2), at: 6)
    #expect(try find(first, "a")?.head.representation == 2)
    #expect(try first.rows(at: 7).count == 1)
    #expect(try first.directory.names().blobs.count == 1)
  }

  @Test func `a body without the digest that its head states replaces a copy with none`() throws {
    let directory = try TemporaryDirectory()
    let store = store(directory)
    try store.store(Self.blob("a"), at: 5)
    let digest = Data(SeededContent.sha256(seed: 1, length: 100)).base64EncodedString()
    let wrong = Self.blob(
      "a", representation: 2, headers: ["Repr-Digest": "sha-256=:\(digest):"])
    #expect(try store.store(wrong, at: 6) == false)
    #expect(try store.directory.names().blobs.isEmpty)
    #expect(try find(store, "a") == nil)
  }

  @Test func `the copy that was selected by most fields is used, and outdates the others`() throws {
    func blob(_ vary: [String], _ number: UInt64) -> Blob {
      var blob = Self.blob("a", representation: number)
      (blob.head.vary, blob.head.selection) = (vary, vary.joined())
      return blob
    }
    let directory = try TemporaryDirectory()
    let store = store(directory)
    try store.store(blob(["accept"], 1), at: 5)
    try store.store(blob([], 2), at: 6)
    #expect(try find(store, "a")?.head.representation == 1)
    #expect(try store.rows(at: 7).count == 2)
    try store.store(blob(["accept", "accept-language"], 3), at: 8)
    #expect(try store.rows(at: 9).map(\.vary) == [["accept", "accept-language"]])
  }

  @Test func `uses reach the index when they are written down, for the next process`() throws {
    let directory = try TemporaryDirectory()
    let first = store(directory)
    try first.store(Self.blob("a"), at: 5)
    _ = try find(first, "a", at: 100)
    try first.noteUses(at: 100)
    #expect(try store(directory).rows(at: 101).map(\.usedAt) == [100])
  }

  @Test func `a blob with any byte changed, missing or added is not read`() throws {
    let blob = Self.blob("a", 50)
    let file = try BlobFormat.start(of: blob) + blob.body
    #expect(BlobFormat.blob(file) == blob)
    for index in file.indices {
      var torn = file
      torn[index] ^= 0x10
      #expect(BlobFormat.blob(torn) == nil)
      #expect(BlobFormat.blob(Data(file.prefix(index))) == nil)
    }
    #expect(BlobFormat.blob(file + [0]) == nil)
  }

  @Test func `a damaged file is removed, not returned`() throws {
    let directory = try TemporaryDirectory()
    let store = store(directory)
    try store.store(Self.blob("a"), at: 5)
    let name = try #require(try store.directory.names().blobs.first)
    let path = store.directory.filePath(name)
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: URL(filePath: path))
    #expect(try find(store, "a") == nil)
    #expect(try store.directory.names().blobs.isEmpty)
    #expect(try store.size(at: 6) == 0)
  }

  @Test func `keeps within its bound, and removes what was not used for longest`() throws {
    let directory = try TemporaryDirectory()
    let store = store(directory, limit: 20_000)
    for number in 0..<100 {
      try store.store(Self.blob("\(number)", 1000), at: Double(number))
      #expect(try store.size(at: 0) <= 20_000)
    }
    #expect(try find(store, "99") != nil)
    #expect(try find(store, "0") == nil)
    try store.store(Self.blob("large", 30_000), at: 200)
    #expect(try find(store, "large") == nil)
    #expect(try find(store, "99") != nil)
    try store.removeAll(at: 300)
    #expect(try store.directory.names().blobs.isEmpty)
  }

  @Test func `removes what was not used for the maximum time, and survives a clock set back`()
    throws
  {
    let directory = try TemporaryDirectory()
    let store = store(directory)
    try store.store(Self.blob("old"), at: 10_000)
    try store.store(Self.blob("new"), at: 50)
    #expect(try store.rows(at: 50).allSatisfy { $0.usedAt <= 50 })
    try store.store(Self.blob("later"), at: 2000)
    #expect(try store.rows(at: 2000).map(\.resource) == ["later"])
  }

  @Test func `the index is made again from the files when it is lost or damaged`() throws {
    for damage in ["", "not a database, not a database, not a database"] {
      let directory = try TemporaryDirectory()
      let first = store(directory)
      for number in 0..<5 { try first.store(Self.blob("\(number)"), at: 5) }
      let size = try first.size(at: 5)
      let path = directory.path + "/index.sqlite"
      try FileManager.default.removeItem(atPath: path)
      if !damage.isEmpty { try Data(damage.utf8).write(to: URL(filePath: path)) }
      let second = store(directory)
      #expect(try second.size(at: 6) == size)
      #expect(try find(second, "3") == Self.blob("3"))
      // The first store notices that its index was replaced.
      try first.store(Self.blob("x"), at: 7)
      #expect(try find(second, "x") == Self.blob("x"))
    }
  }

  @Test func `an index with other tables or triggers is made again`() throws {
    let directory = try TemporaryDirectory()
    let first = store(directory)
    for number in 0..<5 { try first.store(Self.blob("\(number)"), at: 5) }
    let size = try first.size(at: 5)
    let path = URL(filePath: directory.path + "/index.sqlite")
    var bytes = try Data(contentsOf: path)
    let place = try #require(bytes.range(of: Data("bytes + new.size".utf8)))
    bytes.replaceSubrange(place, with: Data("bytes - new.size".utf8))
    try bytes.write(to: path)
    let second = store(directory)
    #expect(try second.size(at: 6) == size)
    try second.store(Self.blob("5"), at: 7)
    #expect(try second.size(at: 7) > size)
  }

  @Test func `files without a row, rows without a file and unfinished files are put right`() throws
  {
    let directory = try TemporaryDirectory()
    let first = store(directory, limit: 5000)
    for number in 0..<3 { try first.store(Self.blob("\(number)"), at: 5) }
    let names = try first.directory.names().blobs
    try first.directory.remove(try #require(names.first))
    try Data("torn".utf8).write(to: URL(filePath: first.directory.filePath("x.blob")))
    try Data("torn".utf8).write(to: URL(filePath: first.directory.filePath("tmp-1")))
    for number in 0..<40 {
      let blob = Self.blob("orphan-\(number)")
      let bytes = try BlobFormat.start(of: blob) + blob.body
      let path = first.directory.filePath(BlobDirectory.name(blob.head))
      try bytes.write(to: URL(filePath: path))
    }
    let second = store(directory, limit: 5000)
    let size = try second.size(at: 10)
    let found = try second.directory.names()
    #expect(found.temporary.isEmpty)
    let lengths = try found.blobs.map { try second.directory.length($0) ?? 0 }
    #expect(lengths.reduce(0, +) == size)
    #expect(size <= 5000)
    #expect(try second.rows(at: 10).count == found.blobs.count)
  }

  @Test func `no address, credential or cookie is in a file or its name`() async throws {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(
      headers: ["Cache-Control": "max-age=60", "Set-Cookie": "secret-1"], directory: directory.path)
    let url = try ResourceURL("http://user:secret-2@example.com/a?sig=secret-3")
    let request = ResourceRequest(url, headers: ["Authorization": "secret-4"])
    _ = try await fixture.cache.value(for: request)
    try await until { fixture.cache.metrics.bytesWritten > 0 }
    let names = try #require(FileManager.default.enumerator(atPath: directory.path))
    var files = 0
    for case let name as String in names {
      #expect(!name.contains("secret"))
      let bytes = try? Data(contentsOf: URL(filePath: directory.path + "/" + name))
      guard let bytes else { continue }
      files += 1
      #expect(bytes.range(of: Data("secret".utf8)) == nil)
    }
    #expect(files >= 2)
  }

  @Test func `every file is for its user alone, also one of an earlier version`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/index.sqlite"
    #expect(FileManager.default.createFile(atPath: path, contents: Data()))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    try store(directory).store(Self.blob("a"), at: 5)
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
    #expect(names.contains { $0.hasPrefix("index.sqlite-") })
    for name in names where name != "blobs" {
      let attributes = try FileManager.default.attributesOfItem(atPath: directory.path + "/" + name)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }

  @Test(arguments: ["index.sqlite", "index.sqlite-journal", "blobs/x.blob", "blobs/tmp-x"])
  func `a pipe in the directory makes nobody wait, and is removed`(name: String) throws {
    let directory = try TemporaryDirectory()
    try store(directory).store(Self.blob("a"), at: 5)
    let path = directory.path + "/" + name
    _ = unlink(path)
    try #require(mkfifo(path, 0o600) == 0)
    let second = store(directory)
    #expect(try find(second, "a") == Self.blob("a"))
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    let type = attributes?[.type] as? FileAttributeType
    #expect(type == nil || type == .typeRegular)
  }

  @Test func `links, directories and files of a wrong length are no blobs`() throws {
    let directory = try TemporaryDirectory()
    let first = store(directory)
    for name in ["a", "b", "c", "d"] { try first.store(Self.blob(name), at: 5) }
    let rows = try first.rows(at: 6)
    func path(_ resource: String) throws -> String {
      first.directory.filePath(try #require(rows.first { $0.resource == resource }).name)
    }
    for resource in ["a", "b"] { try FileManager.default.removeItem(atPath: path(resource)) }
    try FileManager.default.createSymbolicLink(
      atPath: path("a"), withDestinationPath: path("c"))
    try FileManager.default.createDirectory(
      atPath: path("b"), withIntermediateDirectories: false)
    #expect(truncate(try path("d"), 1 << 40) == 0)
    for resource in ["a", "b", "d"] {
      #expect(try find(first, resource) == nil)
      try first.store(Self.blob(resource), at: 7)
      #expect(try find(first, resource) == Self.blob(resource))
    }
    #expect(try find(first, "c") == Self.blob("c"))
    #expect(try store(directory).rows(at: 8).count == 4)
  }

  @Test(arguments: ["lock", "index.sqlite", "blobs"])
  func `a directory, a link or a pipe in place of a file that must be there is an error`(
    name: String
  ) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/" + name
    if name == "blobs" {
      try #require(mkfifo(path, 0o600) == 0)
    } else {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    let error = #expect(throws: TransferError.self) { try store(directory).open(at: 5) }
    #expect(error?.code == .io || error?.code == .notARegularFile, "\(error?.message ?? "")")
  }

  @Test(arguments: [false, true])
  func `a directory that another process holds is in use, after a bounded wait`(isIndex: Bool)
    throws
  {
    let directory = try TemporaryDirectory()
    try store(directory).store(Self.blob("a"), at: 5)
    let waiting = DiskStore(
      directory: directory.path, limit: 1 << 20, maximumAge: 1000, patience: .milliseconds(50))
    func check() {
      let error = #expect(throws: TransferError.self) { try waiting.open(at: 6) }
      #expect(error?.code == .inUse)
      #expect(error?.message.contains("another process is using the cache") == true)
    }
    if isIndex {
      let index = try #require(
        try BlobIndex.open(directory.path + "/index.sqlite", patience: .seconds(1)))
      try index.write { _ in check() }
    } else {
      let file = open(directory.path + "/lock", O_RDWR | O_CLOEXEC)
      defer { close(file) }
      try #require(flock(file, LOCK_EX | LOCK_NB) == 0)
      check()
    }
    #expect(try find(waiting, "a") == Self.blob("a"))
  }
}
