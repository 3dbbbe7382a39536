import HaulCore

/// What a program wrote before it failed is in the message of its error. Only its owner, who is on
/// the socket, sees that, and the arguments of the program: over TCP documents are without them.
extension TransferDocument {
  package mutating func hideProgramOutput() {
    program = nil
    error?.hideProgramOutput()
    if let end = result { result?.result = end.result.mapError(Failure.withoutOutput) }
  }
}

extension EventDocument {
  package mutating func hideProgramOutput() {
    kind = kind?.mapErrors(TransferDocument.Failure.withoutOutput)
  }
}

extension DetailsDocument {
  package mutating func hideProgramOutput() {
    for index in attempts.indices { attempts[index].error.hideProgramOutput() }
  }
}

extension NoticePage {
  package mutating func hideProgramOutput() {
    for index in notices.indices {
      notices[index].error?.hideProgramOutput()
      notices[index].text = ProgramEnd.withoutOutput(notices[index].text)
    }
  }
}

extension TransferDocument.Failure {
  fileprivate mutating func hideProgramOutput() { message = ProgramEnd.withoutOutput(message) }

  fileprivate static func withoutOutput(_ error: TransferError) -> TransferError {
    var failure = Self(error)
    failure.hideProgramOutput()
    return failure.error
  }
}
