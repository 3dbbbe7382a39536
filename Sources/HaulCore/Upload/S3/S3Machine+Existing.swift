/// `--if-exists skip` and `update`: which object stays, and is not sent again.
extension S3Machine {
  /// The object stays; what was sent of another one is deleted.
  mutating func keep(_ object: PresentFile) -> [UploadCommand] {
    [.reportPresent(object)] + (record == nil ? finish(.completed) : abort(then: .completed))
  }

  /// Compares the file with the object that is there; nil if nothing can show that they are equal.
  mutating func compareExisting(_ head: ResponseHead) -> [UploadCommand]? {
    let object = S3StoredObject(head)
    guard source.remote == nil, !parts.isStream, object.length == parts.length,
      !object.contradictsItself, messages.describes(head, asFarAsShown: true)
    else { return nil }
    guard object.algorithms.isEmpty else {
      state = .comparingObject(object)
      return [.digest(0..<parts.length, part: 0, object.algorithms)]
    }
    guard object.ofParts != nil else { return nil }
    var message = messages.headOfFirstPart
    (message.isOptional, state) = (true, .measuringParts(object))
    return [.send(message)]
  }

  /// The file was read as a whole.
  mutating func compared(
    _ object: S3StoredObject, with digests: [Checksum]
  ) -> [UploadCommand] {
    object.proof(by: digests).map { confirm(digests: $0) } ?? open()
  }

  /// The store says how long the first part of the object is. If it does not, the object may have
  /// parts of the size that Haul sends.
  /// - Parameter head: nil if it did not answer.
  mutating func measuredParts(
    _ object: S3StoredObject, _ head: ResponseHead?
  ) -> [UploadCommand] {
    var size: Int64?
    if let head, (200..<300).contains(head.status),
      case .bytes(let bytes) = ContentLength(head.headers)
    {
      size = bytes
    }
    let (own, length) = (parts.partSize, parts.length)
    let comparison =
      size.flatMap { S3PartComparison(object, size: $0, length: length) }
      ?? S3PartComparison(object, size: own, length: length)
    return comparison.map { readNext($0) } ?? open()
  }

  mutating func readNext(_ comparison: S3PartComparison) -> [UploadCommand] {
    guard let (number, range) = comparison.next else {
      return comparison.isEqual ? confirm(digests: []) : open()
    }
    state = .comparingParts(comparison)
    return [.digest(range, part: number, [.md5])]
  }

  /// The object is the file, if the file did not change while it was read.
  private mutating func confirm(digests: [Checksum]) -> [UploadCommand] {
    state = .confirmingObject(
      PresentFile(length: parts.length, .checksum, checksums: digests))
    return [.checkSource]
  }
}
