import HaulCore

/// What a program wrote before it failed is in the message of its error. Only its owner, who is on
/// the socket, sees that: over TCP the documents are without it.
extension TransferDocument {
  package mutating func hideProgramOutput() {
    error?.hideProgramOutput()
    result?.error?.hideProgramOutput()
  }
}

extension EventDocument {
  package mutating func hideProgramOutput() {
    error?.hideProgramOutput()
    result?.error?.hideProgramOutput()
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
      notices[index].error = notices[index].error.map {
        .init(code: $0.code, message: ProgramEnd.withoutOutput($0.message))
      }
      notices[index].text = ProgramEnd.withoutOutput(notices[index].text)
    }
  }
}

extension TransferDocument.Failure {
  fileprivate mutating func hideProgramOutput() { message = ProgramEnd.withoutOutput(message) }
}
