/// The default ACL of a directory, as the attribute `system.posix_acl_default` stores it.
package enum DefaultACL {
  private static let version: [UInt8] = [2, 0, 0, 0]
  private static let (owner, group, mask, other): (UInt8, UInt8, UInt8, UInt8) = (1, 4, 0x10, 0x20)
  private static let entryLength = 8

  /// The rights of a file that is created with 0666 in the directory (acl(5), "Object creation and
  /// default ACLs"). The bits of the group are those of the mask, if there is one.
  package static func mode(_ attribute: [UInt8]) -> UInt32 {
    var rights: [UInt8: UInt32] = [:]
    if attribute.starts(with: version) {
      // Two bytes each for the kind and the rights, then the number of a user or group.
      for start in stride(from: version.count, to: attribute.count - 3, by: entryLength)
      where attribute[start + 1] == 0 {
        rights[attribute[start]] = UInt32(attribute[start + 2]) & 0o6
      }
    }
    // What it does not say, nobody but the owner gets.
    let (user, others) = (rights[owner] ?? 0o6, rights[other] ?? 0)
    let members = rights[mask] ?? rights[group] ?? 0
    return user << 6 | members << 3 | others
  }
}
