import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import HaulLibC
import HaulTesting
import Testing

/// A manager without a network, whose steps run programs in an empty directory.
struct ProgramFixture: Sendable {
  let manager: TransferManager
  let directory: String

  static func with(
    active: Int = 8, clock: any TransferClock = SystemClock(), store: any Store = MemoryStore(),
    programs: any Programs = LinuxPrograms(), in directory: String? = nil,
    _ body: (ProgramFixture) async throws -> Void
  ) async throws {
    let path = directory ?? ScratchFixture.make()
    defer { if directory == nil { try? FileManager.default.removeItem(atPath: path) } }
    try await StepFixture.with(active: active, clock: clock, store: store, programs: programs) {
      try await body(ProgramFixture(manager: $0.manager, directory: path))
    }
  }

  /// A step that runs this script with these arguments, in this directory.
  func script(
    _ text: String, _ arguments: String..., isIdempotent: Bool = false
  ) -> TransferRequest {
    .step(
      program: ["sh", "-c", text, "script"] + arguments, in: directory, isIdempotent: isIdempotent)
  }

  func add(
    _ text: String, _ arguments: String..., isIdempotent: Bool = false
  ) async throws -> Transfer {
    try await manager.add(
      .step(
        program: ["sh", "-c", text, "script"] + arguments, in: directory,
        isIdempotent: isIdempotent))
  }

  /// Its error.
  func failure(of transfer: Transfer) async throws -> TransferError {
    guard case .failure(let error) = await outcome(transfer) else {
      throw Unexpected(what: "it did not fail")
    }
    return error
  }

  struct Unexpected: Error {
    let what: String
  }

  /// Nil if the file does not exist, or is empty.
  func text(_ name: String) -> String? {
    let data = FileManager.default.contents(atPath: "\(directory)/\(name)")
    return data.flatMap { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) }
  }

  func lines(_ name: String) -> [String] {
    text(name)?.split(separator: "\n").map(String.init) ?? []
  }

  /// The pid that a program has written into a file, once the file is complete.
  func process(_ name: String) async throws -> Int32 {
    try await until { text(name)?.hasSuffix("\n") ?? false }
    return try #require(lines(name).first.flatMap { Int32($0) })
  }

  /// Creates a pipe in the directory, where a program can wait.
  func makeGate(_ name: String) throws {
    try #require(mkfifo("\(directory)/\(name)", 0o600) == 0)
  }

  /// Releases the program at a pipe.
  func open(gate name: String) async throws {
    let path = "\(directory)/\(name)"
    // Until it waits there, the other end is not open.
    try await until {
      let file = HaulLibC.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      if file != -1 { close(file) }
      return file != -1
    }
  }
}

enum ScratchFixture {
  static func make() -> String {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "haul-program-\(UUID().uuidString)").path
    // Its first use shows whether it worked.
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }
}

/// Whether a process runs; one that has ended and is not yet reaped does not.
func runs(_ pid: Int32) -> Bool {
  guard let file = fopen("/proc/\(pid)/stat", "re") else { return false }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 512)
  guard fgets(&line, Int32(line.count), file) != nil else { return false }
  let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  let state = text.split(separator: ")").last?.split(separator: " ").first
  return state.map { $0 != "Z" && $0 != "X" } ?? false
}
