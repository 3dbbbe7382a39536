import HaulCLI
import HaulCore
import Testing

/// Which files of a watch folder are complete.
@Suite struct DroppedFilesTests {
  private func version(_ size: Int64, inode: UInt64 = 1) -> DroppedFiles.Version {
    DroppedFiles.Version(device: 1, inode: inode, size: size, modified: 5, changed: 6)
  }

  @Test func `One that is still written is not taken, and one that is complete once`() {
    var files = DroppedFiles()
    let start = Instant()
    #expect(files.ready(["a": version(1)], at: start).isEmpty)
    #expect(files.ready(["a": version(2)], at: start + .seconds(10)).isEmpty, "it has grown")
    #expect(files.ready(["a": version(2)], at: start + .seconds(12)).isEmpty)
    #expect(files.ready(["a": version(2)], at: start + .seconds(13)) == ["a"])
    #expect(files.ready(["a": version(2)], at: start + .seconds(14)) == ["a"], "not handled yet")
    files.handled("a")
    #expect(files.ready(["a": version(2)], at: start + .seconds(20)).isEmpty)
    let other = version(2, inode: 2)
    #expect(files.ready(["a": other], at: start + .seconds(21)).isEmpty)
    #expect(files.ready(["a": other], at: start + .seconds(24)) == ["a"], "another file")
    #expect(files.ready([:], at: start + .seconds(25)).isEmpty)
    #expect(files.ready(["a": other], at: start + .seconds(26)).isEmpty, "it was away")
  }

  @Test func `One without content is left alone`() {
    var files = DroppedFiles()
    _ = files.ready(["a": version(0)], at: Instant())
    #expect(files.ready(["a": version(0)], at: Instant() + .seconds(60)).isEmpty)
    #expect(files.ready(["a": version(1)], at: Instant() + .seconds(61)).isEmpty)
    #expect(files.ready(["a": version(1)], at: Instant() + .seconds(64)) == ["a"])
  }

  @Test func `Names of unfinished files are left alone, others come by name`() {
    var files = DroppedFiles()
    let names = ["b", "a.txt", ".a.swp", "x.part", "x.crdownload", "y~", "Z.TMP", "w.filepart"]
    let present = Dictionary(uniqueKeysWithValues: names.map { ($0, version(1)) })
    _ = files.ready(present, at: Instant())
    #expect(files.ready(present, at: Instant() + .seconds(60)) == ["a.txt", "b"])
  }
}
