extension UploadProtocol {
  static let put = UploadProtocol(
    name: "PUT", canRequireAbsence: true, canRequireVersion: true, takesForms: true,
    asksBeforeReading: true,
    machine: PutMachine.init)

  static let post = UploadProtocol(
    name: "POST", namesFile: false, isIdempotent: false, takesForms: true,
    machine: PutMachine.init)
}

extension PutMachine {
  fileprivate init(_ start: UploadStart) {
    self.init(
      start.request, length: start.extent.length, changed: start.changed, form: start.form,
      hasRun: start.hasRun, isAttended: start.isAttended, now: start.now)
    if start.request.method.uploadProtocol.asksBeforeReading {
      publication = Publication(start.request)
    }
  }
}
