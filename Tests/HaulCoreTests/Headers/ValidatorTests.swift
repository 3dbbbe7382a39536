import HaulCore
import Testing

@Suite struct ValidatorTests {
  static let early = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let late = "Sun, 06 Nov 1994 08:50:37 GMT"

  private func read(_ fields: (String, String)...) -> Validator {
    Validator(HeaderFields(fields), now: 784_111_777)
  }

  @Test func `A date is strong if it is at least 60 seconds before the response`() {
    #expect(read(("Last-Modified", Self.early), ("Date", Self.late)).lastModifiedIsStrong)
    let second = "Sun, 06 Nov 1994 08:49:38 GMT"
    #expect(!read(("Last-Modified", second), ("Date", Self.late)).lastModifiedIsStrong)
    #expect(!read(("Last-Modified", Self.early)).lastModifiedIsStrong)
    #expect(!read(("Last-Modified", "yesterday"), ("Date", Self.late)).lastModifiedIsStrong)
    #expect(!read(("Last-Modified", Self.late), ("Date", Self.early)).lastModifiedIsStrong)
  }

  @Test func `Fields are kept as sent, and contradictory ones are dropped`() {
    #expect(read(("ETag", "W/\"a\"")).entityTag == "W/\"a\"")
    #expect(read(("ETag", "a")).entityTag == nil)
    #expect(read(("ETag", "\"a\""), ("etag", "\"a\"")).entityTag == "\"a\"")
    #expect(read(("ETag", "\"a\""), ("etag", "\"b\"")).entityTag == nil)
    let weekday = "Sunday, 06-Nov-94 08:49:37 GMT"
    #expect(read(("Last-Modified", weekday), ("Date", Self.late)).ifRange == weekday)
  }

  @Test func `A tag that has lost bytes is not sent back, and proves nothing`() {
    let lost = read(("ETag", "\"a\u{FFFD}\""))
    #expect(lost.ifRange == nil && !lost.isStrong)
    #expect(lost.comparison(with: lost) == .unknown)
    #expect(lost.comparison(with: read(("ETag", "\"b\""))) == .different)
  }

  @Test func `If-Range uses a strong tag, else a strong date, but none beside a weak tag`() {
    let table: [(tag: String?, strongDate: Bool, ifRange: String?, isStrong: Bool)] = [
      ("\"a\"", false, "\"a\"", true), ("\"a\"", true, "\"a\"", true),
      ("W/\"a\"", false, nil, false), ("W/\"a\"", true, nil, true),
      (nil, true, Self.early, true), (nil, false, nil, false),
    ]
    for row in table {
      let validator = Validator(
        entityTag: row.tag, lastModified: Self.early, lastModifiedIsStrong: row.strongDate)
      #expect(validator.ifRange == row.ifRange)
      #expect(validator.isStrong == row.isStrong)
    }
  }

  @Test func `Validators compare by tag first, then by date`() {
    let tags: [String?] = [nil, "\"a\"", "\"b\"", "W/\"a\"", "W/\"b\""]
    let dates: [String?] = [nil, Self.early, Self.late]
    for (ours, ourDate, isStrong) in product(tags, dates, [false, true]) {
      for (theirs, theirDate, theirStrength) in product(tags, dates, [false, true]) {
        let old = Validator(
          entityTag: ours, lastModified: ourDate, lastModifiedIsStrong: isStrong)
        let new = Validator(
          entityTag: theirs, lastModified: theirDate, lastModifiedIsStrong: theirStrength)
        let found = old.comparison(with: new)
        if let ours, let theirs, ours.suffix(3) != theirs.suffix(3) {
          #expect(found == .different)
        } else if let ours, ours == theirs, !ours.hasPrefix("W/") {
          let differ = ourDate != nil && theirDate != nil && ourDate != theirDate
          #expect(found == (differ ? .different : .same))
        } else if ourDate == nil || theirDate == nil {
          #expect(found == .unknown)
        } else if ourDate != theirDate {
          #expect(found == .different)
        } else {
          #expect(found == (isStrong ? .same : .unknown))
        }
      }
    }
  }

  private func product<A, B, C>(_ a: [A], _ b: [B], _ c: [C]) -> [(A, B, C)] {
    a.flatMap { a in b.flatMap { b in c.map { (a, b, $0) } } }
  }

  @Test(
    arguments: [
      ("\"67748580-64\"", 100, true), ("\"64-62b8f6a0c2d80\"", 100, true),
      ("\"1a2b3c-64-62b8f6a0c2d80\"", 100, true), ("\"d5kqtr2s\"", 100, true),
      ("\"67748580-65\"", 100, false), ("\"67748580\"", 100, false),
      ("\"0123456789abcdef0123456789abcdef\"", 100, false), ("\"v1\"", 100, false),
      ("W/\"67748580-64\"", 100, false), ("\"-64\"", 100, false),
    ] as [(String, Int64, Bool)])
  func `tags that are made of date and length`(tag: String, length: Int64, isOfMetadata: Bool) {
    let validator = Validator(
      entityTag: tag, lastModified: "Wed, 01 Jan 2025 00:00:00 GMT", lastModifiedIsStrong: true)
    #expect(validator.isOfMetadata(length: length) == isOfMetadata)
    #expect(!validator.isOfMetadata(length: nil))
  }
}
