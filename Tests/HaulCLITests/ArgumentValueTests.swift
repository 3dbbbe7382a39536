import HaulCLI
import Testing

/// Values of options.
@Suite struct ArgumentValueTests {
  @Test(
    arguments: [
      ("1", 1), ("500K", 500 << 10), ("1.5M", 3 << 19), ("1MiB", 1 << 20), ("2gib", 2 << 30),
      ("1T", 1 << 40), ("0.5k", 512), ("64b", 64), ("0.001K", 1),
      ("8388607T", 8_388_607 << 40),
    ] as [(String, Int64)])
  func `Sizes are in bytes; suffixes are powers of 1024; fractions are allowed`(
    text: String, bytes: Int64
  ) throws {
    #expect(try ArgumentValue.bytes(text) == bytes)
  }

  @Test(arguments: [
    "", "K", ".", "1.", ".5M", "1.5", "-1", "+1", "1,5M", "5MB", "1e3", "9999999999G",
  ])
  func `An invalid size is refused`(text: String) {
    #expect(throws: UsageError.self) { try ArgumentValue.bytes(text) }
  }
}
