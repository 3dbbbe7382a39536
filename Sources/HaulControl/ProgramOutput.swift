import HaulCore

/// What a program wrote before it failed is in the message of its error. Only its owner, who is on
/// the socket, sees that, and the arguments of the program: over TCP documents are without them.
extension TransferDocument {
  package mutating func hideProgramOutput() {
    program = nil
    error?.hideProgramOutput()
    result?.error?.hideProgramOutput()
  }
}

extension EventDocument {
  package mutating func hideProgramOutput() {
    switch content {
    case .attempt(let number, var failure, let delay):
      failure.hideProgramOutput()
      content = .attempt(number, failure, delay: delay)
    case .finished(var result):
      result.error?.hideProgramOutput()
      content = .finished(result)
    case .added, .target, .phase, .waiting, .paused, .resumed, .progress, .limited, .connections,
      .moved, .removed, .changed:
      break
    }
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
}
