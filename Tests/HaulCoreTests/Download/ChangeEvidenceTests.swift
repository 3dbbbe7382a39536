import HaulCore
import Testing

/// What speaks for a change of the file.
@Suite struct ChangeEvidenceTests {
  private func validator(_ tag: String) -> Validator {
    Validator(entityTag: tag, lastModified: nil, lastModifiedIsStrong: false)
  }

  @Test func `Another version is doubted once; the same tag with another length is no version`() {
    var changes = ChangeEvidence()
    let known = validator("\"v1\"")
    changes.noteDoubt(.init(validator: known, length: 99), beside: known)
    let none = changes.takeDoubt()
    #expect(none == nil)
    changes.noteDoubt(.init(validator: validator("\"v2\""), length: 99), beside: known)
    changes.noteDoubt(.init(validator: validator("\"v3\""), length: 99), beside: known)
    let taken = changes.takeDoubt()
    #expect(taken?.validator == validator("\"v2\""))
    let again = changes.takeDoubt()
    #expect(again == nil)
  }

  @Test func `A tag that differs in each of two answers identifies nothing`() {
    var changes = ChangeEvidence()
    changes.noteDifferent(validator("\"v2\""))
    changes.noteDifferent(validator("\"v2\""))
    #expect(!changes.hasUnstableValidators)
    changes.refute()
    changes.noteDifferent(validator("\"v3\""))
    #expect(!changes.hasUnstableValidators, "the version was confirmed in between")
    changes.noteDifferent(validator("\"v4\""))
    #expect(changes.hasUnstableValidators)
  }

  @Test func `The confirmations begin again after an answer with the known version`() {
    var changes = ChangeEvidence()
    changes.confirmations = 2
    changes.refute()
    #expect(changes.confirmations == 0)
  }
}
