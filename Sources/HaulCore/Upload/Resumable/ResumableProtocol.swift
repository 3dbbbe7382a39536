extension UploadProtocol {
  static let resumable = UploadProtocol(
    name: "PUT", resuming: .ifOffered, leastRecorded: ResumableMachine.smallest,
    machine: {
      ResumableMachine(
        $0.request, source: $0.source, extent: $0.extent, hasRun: $0.hasRun,
        isAttended: $0.isAttended, now: $0.now)
    }, terminations: ResumableMachine.terminations)
}
