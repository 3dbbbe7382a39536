import Foundation
import HaulCache
import HaulCore
import HaulLibC
import Testing

/// A program that stores blobs, ended by SIGKILL at random moments.
@Suite(.serialized) struct KillTests {
  private static let limit: Int64 = 600_000

  /// - Parameter output: gets a byte before each call of the program.
  private func start(
    _ directory: TemporaryDirectory, seed: UInt64, output: Any = FileHandle.nullDevice
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "haul-cachekill")
    process.arguments = [directory.path, "\(Self.limit)", "\(seed)"]
    process.standardOutput = output
    try process.run()
    return process
  }

  /// Starts it, and kills it in one of its next calls.
  private func startAndKill(
    _ directory: TemporaryDirectory, seed: UInt64, calls: Int
  ) throws {
    let output = Pipe()
    let process = try start(directory, seed: seed, output: output)
    let begun = try output.fileHandleForReading.read(upToCount: calls)
    end(process)
    #expect(begun?.count == calls)
  }

  private func end(_ process: Process) {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Reads everything: each body must be the one that its head says.
  private func check(_ directory: TemporaryDirectory) throws -> Int {
    let store = DiskStore(
      directory: directory.path, limit: Self.limit, maximumAge: 1e9, patience: .seconds(30))
    let rows = try store.rows(at: 1e6)
    var whole = 0
    for row in rows {
      let found = try store.find(row.resource, at: 1e6) { _, _ in true }
      let blob = try #require(found)
      let number = blob.head.representation
      #expect(blob.body.count == Int(number % 60_000))
      #expect(blob.body.allSatisfy { $0 == UInt8(number % 251) })
      whole += 1
    }
    let names = try store.directory.names()
    #expect(names.temporary.isEmpty)
    let total = try names.blobs.reduce(0) { $0 + (try store.directory.length($1) ?? 0) }
    #expect(total <= Self.limit)
    #expect(try store.size(at: 1e6) == total)
    return whole
  }

  @Test func `200 kills leave no torn blob, and the size bound holds`() async throws {
    let directory = try TemporaryDirectory()
    var random = SeededRandom(5)
    var whole = 0
    for number in 0..<200 {
      try startAndKill(directory, seed: UInt64(number), calls: Int(1 + random.next() % 40))
      whole += try check(directory)
    }
    print("200 kills: \(whole) blobs read, all whole")
    #expect(whole > 1000)
  }

  @Test func `of two processes on one directory, one is killed again and again`() async throws {
    let directory = try TemporaryDirectory()
    let survivor = try start(directory, seed: 1000)
    var random = SeededRandom(6)
    for number in 0..<40 {
      try startAndKill(directory, seed: UInt64(number), calls: Int(1 + random.next() % 40))
    }
    #expect(survivor.isRunning)
    end(survivor)
    #expect(try check(directory) > 5)
  }
}
