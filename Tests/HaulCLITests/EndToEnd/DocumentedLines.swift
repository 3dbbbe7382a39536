import Foundation
import HaulTesting
import Testing

/// Runs lines that the documentation shows. The home directory is the directory of the workplace.
extension DaemonFixture {
  static let length: Int64 = 300_000

  static func withFiles(
    _ paths: some Sequence<String>, body: (DaemonFixture) async throws -> Void
  ) async throws {
    try await with(paths.map { CommandFixture.file($0, length: length) }, body: body)
  }

  /// The text with what the documentation leaves open: the server, a digest, and an id.
  func real(_ text: String, id: String = "") -> String {
    text.replacing(/https:\/\/example\.(com|org)/, with: work.server.origin)
      .replacing(/sha-256=(…|HEX)/) { _ in
        "sha-256=\(SeededContent.sha256Hex(seed: CommandFixture.seed, length: Self.length))"
      }
      .replacing("./haul ", with: "haul ").replacing("4FZ0", with: id)
  }

  /// Runs a line in a shell, where it must succeed.
  /// - Parameters:
  ///   - paths: those of the server that replace the word URL, in order.
  ///   - id: replaces the id of the documentation.
  @discardableResult
  func shell(
    _ line: String, paths: [String] = [], id: String = "", environment more: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> CommandResult {
    var paths = paths[...]
    let command = real(line, id: id).replacing(/\bURL\b/) { _ in
      work.server.url(paths.popFirst() ?? "/none")
    }
    let programs = CommandRun.products.path
    // What a test puts in `bin` replaces no installed program.
    let path = ["PATH": "\(programs):/usr/bin:/bin:\(work.path("bin"))"]
    let result = try await CommandRun(
      ["-c", command], in: work.directory,
      environment: environment.merging(path) { $1 }.merging(more) { $1 }, program: "/bin/sh"
    ).end()
    #expect(
      result.status == 0, "\(line): \(result.output)\(result.errors)",
      sourceLocation: sourceLocation)
    return result
  }

  /// Writes a file, which only its owner may read by default, and the directories above it.
  func write(_ text: String, to name: String, permissions: Int = 0o600) throws {
    let path = work.path(name)
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
  }

  /// An answer that is a tar archive of a file `inside`.
  /// - Parameter letters: more of the letters of `tar`, such as `z`.
  func archive(_ letters: String = "") async throws -> Fault {
    let packed = try await shell(
      "echo inside >inside && tar -c\(letters)f - inside | base64 -w 0 && rm inside")
    return Fault(.ignoreRange, .body(base64: packed.output))
  }

  func expectUnpacked(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(
      try work.contents("inside") == Array("inside\n".utf8), sourceLocation: sourceLocation)
  }

  func expectWhole(_ names: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
    for name in names {
      try work.expectWhole(name, length: Self.length, sourceLocation: sourceLocation)
    }
  }

  /// The values of a header field in the requests for a path.
  func sent(_ field: String, for path: String) -> [String] {
    work.server.snapshot.requests(path).compactMap { $0.header(field) }
  }
}
