extension UploadProtocol {
  static let resumable = UploadProtocol(
    name: "PUT", resuming: .ifOffered, leastRecorded: ResumableMachine.smallest,
    machine: ResumableMachine.init, terminations: ResumableMachine.terminations)
}
