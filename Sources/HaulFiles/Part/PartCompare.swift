package import HaulCore

extension PartFile {
  /// Whether exactly these bytes stand at `offset`.
  /// - Throws: `io`, `length-mismatch` when the file ends before.
  package func holds(_ bytes: [UInt8], at offset: Int64) throws(TransferError) -> Bool {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    var position = 0
    var isSame = true
    let range = offset..<(offset + Int64(bytes.count))
    try FileReader.forEachBlock(of: part, in: range) { block in
      isSame = isSame && bytes[position..<(position + block.count)].elementsEqual(block)
      position += block.count
    }
    return isSame
  }
}
