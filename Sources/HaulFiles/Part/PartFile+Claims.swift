package import HaulCore

extension PartFile {
  /// What the journal of an earlier run says of a target: the bytes, and the length if it is known.
  /// Nil without a journal that can be read, or once the file is published. It writes nothing and
  /// checks no byte, so it is only for showing.
  package static func claims(
    of name: String, in directory: any DiskDirectory
  ) -> (bytes: Int64, length: Int64?)? {
    guard let names = try? PartNames(name),
      let file = try? directory.open(names.journal, writing: false)
    else { return nil }
    defer { file.close() }
    guard let content = try? FileReader.contents(of: file) else { return nil }
    let replay = JournalReplay(content)
    guard replay.condition == .valid, replay.publication == nil, let head = replay.head else {
      return nil
    }
    let received = ByteRangeSet(replay.claims.filter { !$0.isVoid }.map(\.extent.range))
    return (received.byteCount, head.length)
  }
}
