import HaulCore
import HaulFiles

let journalTargets = [
  Target(name: "journal") { input in replay(input.bytes) },
  // The fuzzer cannot guess checksums: its pieces become records that have the right ones.
  Target(name: "journal-records") { input in
    var bytes = JournalFormat.header()
    var crc = UInt32(littleEndian: bytes[12...])
    for piece in input.bytes.split(separator: 0xFF) {
      let payload = piece.dropFirst().map { $0 == 0xFE ? 0xFF : $0 }
      let record = [piece[piece.startIndex] % 11] + littleEndian(UInt32(payload.count)) + payload
      crc = CRC32C.of(littleEndian(crc) + record)
      bytes += record + littleEndian(crc)
    }
    replay(bytes)
    replay(bytes.dropLast())
  },
]

private func replay(_ bytes: [UInt8]) {
  let replay = JournalReplay(bytes)
  let claims = replay.claims
  expect(replay.durableCount <= UInt64(claims.count), "durable claims that are none")
  for claim in claims {
    let range = claim.extent.range
    expect(range.lowerBound >= 0 && range.length > 0, "a claim of \(range)")
    expect(range.length <= Int64(Extent.maximumLength), "a claim of \(range.length) bytes")
  }
  guard replay.condition == .valid else {
    // Without a header nothing counts; with one, what came before an unknown record does.
    return expect(replay.condition == .newer || claims.isEmpty, "claims of what is no journal")
  }
  expect(replay.end + replay.tornLength == bytes.count, "bytes that are neither valid nor torn")
  let whole = JournalReplay(Array(bytes.prefix(replay.end)))
  expect(whole.tornLength == 0 && whole.crc == replay.crc, "the valid part is torn")
  expect(
    whole.claims == claims && whole.durableCount == replay.durableCount
      && whole.head == replay.head && whole.run == replay.run
      && whole.publication == replay.publication && whole.rejected == replay.rejected
      && whole.syncIsOpen == replay.syncIsOpen && whole.placeholder == replay.placeholder,
    "the valid part says something else")
}

private func littleEndian(_ value: UInt32) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}

extension UInt32 {
  fileprivate init(littleEndian bytes: ArraySlice<UInt8>) {
    self = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}
