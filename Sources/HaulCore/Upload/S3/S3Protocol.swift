extension UploadProtocol {
  static let s3 = UploadProtocol(
    name: "S3", resuming: .always, canRequireAbsence: true, canRequireVersion: true,
    isSigned: true, needsReplyBody: true, leastRecorded: 0, recordsStreams: true,
    keepsAbandoned: true, parts: S3Parts.connections,
    machine: {
      S3Machine(
        $0.request, source: $0.source, extent: $0.extent, fields: $0.fields,
        staysLocal: $0.staysLocal, requiresCondition: $0.requiresCondition,
        refusals: $0.refusals,
        isAttended: $0.isAttended, now: $0.now, wallSeconds: $0.wallSeconds)
    }, terminations: S3Machine.terminations)
}
