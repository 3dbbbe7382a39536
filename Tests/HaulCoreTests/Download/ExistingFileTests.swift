import HaulCore
import Testing

/// An existing file is the one on the server.
@Suite
struct ExistingFileTests {
  private func isCopy(modified: Double, second: Int, hasCoarseDate: Bool) -> Bool {
    let file = DownloadMachine.ExistingFile(
      path: "d/f", size: 100, modified: modified, hasCoarseDate: hasCoarseDate)
    let validator = Validator(
      entityTag: nil, lastModified: "Thu, 01 Jan 1970 00:00:0\(second) GMT",
      lastModifiedIsStrong: true)
    let version = DownloadMachine.Version(validator: validator, length: 100)
    return file.isCopy(of: version, wallSeconds: 1_000_000_000)
  }

  @Test
  func `A date in steps of two seconds, as FAT keeps it, is that of the server rounded down`() {
    #expect(isCopy(modified: 4, second: 5, hasCoarseDate: true))
    #expect(isCopy(modified: 4, second: 4, hasCoarseDate: true))
    #expect(isCopy(modified: 5, second: 5, hasCoarseDate: true))
    #expect(!isCopy(modified: 4, second: 6, hasCoarseDate: true))
    #expect(!isCopy(modified: 5, second: 4, hasCoarseDate: true))
    #expect(!isCopy(modified: 3, second: 4, hasCoarseDate: true))
    #expect(!isCopy(modified: 4, second: 5, hasCoarseDate: false))
  }
}
