import ArgumentParser
import HaulLibC
import HaulTesting

struct SeedOptions: ParsableArguments {
  @Option(help: "The seed of the content.")
  var seed: UInt64

  @Option(help: "The length in bytes.")
  var length: Int64

  func validate() throws {
    guard length >= 0 else { throw ValidationError("the length must not be negative") }
  }
}

struct Content: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Writes content to a file.")

  @OptionGroup var content: SeedOptions

  @Option(help: "The file; an existing one is replaced.")
  var out: String

  func run() throws {
    let descriptor = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw LastSystemError(name: out) }
    defer { close(descriptor) }
    let seeded = SeededContent(seed: content.seed)
    try seeded.forEachPiece(of: 0..<content.length) { piece in
      var rest = piece[...]
      while !rest.isEmpty {
        let written = write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw LastSystemError(name: out) }
        rest = rest.dropFirst(written)
      }
    }
  }
}

struct SHA256Digest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sha256", abstract: "Prints the SHA-256 of content.")

  @OptionGroup var content: SeedOptions

  func run() {
    print(SeededContent.sha256Hex(seed: content.seed, length: content.length))
  }
}

/// The error of a failed system call.
struct LastSystemError: Error, CustomStringConvertible {
  let name: String
  let number = errno

  var description: String { "\(name): \(String(cString: strerror(number)))" }
}
