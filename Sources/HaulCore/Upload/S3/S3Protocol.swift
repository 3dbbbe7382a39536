extension UploadProtocol {
  static let s3 = UploadProtocol(
    name: "S3", resuming: .always, canRequireAbsence: true, canRequireVersion: true,
    isSigned: true, needsReplyBody: true, leastRecorded: 0, recordsStreams: true,
    keepsAbandoned: true, parts: S3Parts.connections,
    machine: S3Machine.init, terminations: S3Machine.terminations)
}
