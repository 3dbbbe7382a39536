import ArgumentParser
import HaulTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

struct ContentOptions: ParsableArguments {
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

  @OptionGroup var content: ContentOptions

  @Option(help: "The file; replaced when it is there.")
  var out: String

  func run() throws {
    let descriptor = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw SystemError(name: out) }
    defer { close(descriptor) }
    let seeded = SeededContent(seed: content.seed)
    try seeded.forEachPiece(of: 0..<content.length) { piece in
      var rest = piece[...]
      while !rest.isEmpty {
        let written = write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw SystemError(name: out) }
        rest = rest.dropFirst(written)
      }
    }
  }
}

struct SHA256Digest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sha256", abstract: "Prints the SHA-256 of content.")

  @OptionGroup var content: ContentOptions

  func run() {
    print(SeededContent.sha256Hex(seed: content.seed, length: content.length))
  }
}

/// What the last failed system call said.
struct SystemError: Error, CustomStringConvertible {
  let name: String
  let number = errno

  var description: String { "\(name): \(String(cString: strerror(number)))" }
}
