import Foundation
import HaulCore
import HaulHTTP
import HaulKit
import HaulLibC
import HaulTesting
import Testing

/// Files that options name.
@Suite struct NamedFileTests {
  /// A pipe with a writer and some bytes, so that opening and reading it does not wait.
  private func withPipe(
    of owner: uid_t, in fixture: DownloadFixture, _ body: (String) throws -> Void
  ) throws {
    let path = fixture.path("pipe")
    try #require(mkfifo(path, 0o644) == 0)
    let writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    try #require(writer >= 0)
    defer { close(writer) }
    try #require(write(writer, "abc", 3) == 3)
    if owner != geteuid() {
      // Only the superuser can give a file away.
      guard geteuid() == 0 else { return }
      try #require(chown(path, owner, owner) == 0)
    }
    try body(path)
  }

  @Test func `A pipe of another user is not read`() async throws {
    try await DownloadFixture.with([]) { fixture in
      try withPipe(of: 12_345, in: fixture) { path in
        let error = #expect(throws: TransferError.self) { try NamedFile.open(path).map(close) }
        #expect(error?.code == .sourceUnreadable)
      }
    }
  }

  @Test func `A pipe of another user that was given is read`() async throws {
    try await DownloadFixture.with([]) { fixture in
      try withPipe(of: 12_345, in: fixture) { path in
        let given = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(given) }
        try expectBytes(of: "/dev/fd/\(given)")
      }
    }
  }

  @Test func `A pipe of this user is read, and waits for its bytes`() async throws {
    try await DownloadFixture.with([]) { fixture in
      try withPipe(of: geteuid(), in: fixture, expectBytes)
    }
  }

  @Test func `A certificate is not read from a device of another user`() async throws {
    try await DownloadFixture.with([]) { fixture in
      let path = fixture.path("device")
      // As /dev/null; in a container, not even the superuser may make one.
      guard mknod(path, S_IFCHR | 0o644, 0x103) == 0 else { return }
      try #require(chown(path, 12_345, 12_345) == 0)
      var configuration = TransferManager.Configuration()
      configuration.certificateAuthorities = path
      let error = #expect(throws: TransferError.self) { try TransferManager(configuration) }
      #expect(error?.code == .tls)
      #expect(error?.message.contains("another user") == true)
    }
  }

  private func expectBytes(of path: String) throws {
    let opened = try #require(try NamedFile.open(path))
    defer { close(opened) }
    #expect(fcntl(opened, F_GETFL) & O_NONBLOCK == 0)
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(read(opened, &bytes, bytes.count) == 3)
    #expect(bytes.starts(with: Array("abc".utf8)))
  }
}
