/// SHA-512/256 (FIPS 180-4, section 5.3.6.2), for Digest authentication: no library here has it. It
/// is not for large texts.
enum SHA512256 {
  private static let initial: [UInt64] = [
    0x22312194_FC2BF72C, 0x9F555FA3_C84C64C2, 0x2393B86B_6F53B151, 0x96387719_5940EABD,
    0x96283EE2_A88EFFE3, 0xBE5E1E25_53863992, 0x2B0199FC_2C85B8AA, 0x0EB72DDC_81C52CA2,
  ]

  /// The cube roots of the first 80 primes (section 4.2.3).
  private static let constants: [UInt64] = [
    0x428A2F98_D728AE22, 0x71374491_23EF65CD, 0xB5C0FBCF_EC4D3B2F, 0xE9B5DBA5_8189DBBC,
    0x3956C25B_F348B538, 0x59F111F1_B605D019, 0x923F82A4_AF194F9B, 0xAB1C5ED5_DA6D8118,
    0xD807AA98_A3030242, 0x12835B01_45706FBE, 0x243185BE_4EE4B28C, 0x550C7DC3_D5FFB4E2,
    0x72BE5D74_F27B896F, 0x80DEB1FE_3B1696B1, 0x9BDC06A7_25C71235, 0xC19BF174_CF692694,
    0xE49B69C1_9EF14AD2, 0xEFBE4786_384F25E3, 0x0FC19DC6_8B8CD5B5, 0x240CA1CC_77AC9C65,
    0x2DE92C6F_592B0275, 0x4A7484AA_6EA6E483, 0x5CB0A9DC_BD41FBD4, 0x76F988DA_831153B5,
    0x983E5152_EE66DFAB, 0xA831C66D_2DB43210, 0xB00327C8_98FB213F, 0xBF597FC7_BEEF0EE4,
    0xC6E00BF3_3DA88FC2, 0xD5A79147_930AA725, 0x06CA6351_E003826F, 0x14292967_0A0E6E70,
    0x27B70A85_46D22FFC, 0x2E1B2138_5C26C926, 0x4D2C6DFC_5AC42AED, 0x53380D13_9D95B3DF,
    0x650A7354_8BAF63DE, 0x766A0ABB_3C77B2A8, 0x81C2C92E_47EDAEE6, 0x92722C85_1482353B,
    0xA2BFE8A1_4CF10364, 0xA81A664B_BC423001, 0xC24B8B70_D0F89791, 0xC76C51A3_0654BE30,
    0xD192E819_D6EF5218, 0xD6990624_5565A910, 0xF40E3585_5771202A, 0x106AA070_32BBD1B8,
    0x19A4C116_B8D2D0C8, 0x1E376C08_5141AB53, 0x2748774C_DF8EEB99, 0x34B0BCB5_E19B48A8,
    0x391C0CB3_C5C95A63, 0x4ED8AA4A_E3418ACB, 0x5B9CCA4F_7763E373, 0x682E6FF3_D6B2B8A3,
    0x748F82EE_5DEFB2FC, 0x78A5636F_43172F60, 0x84C87814_A1F0AB72, 0x8CC70208_1A6439EC,
    0x90BEFFFA_23631E28, 0xA4506CEB_DE82BDE9, 0xBEF9A3F7_B2C67915, 0xC67178F2_E372532B,
    0xCA273ECE_EA26619C, 0xD186B8C7_21C0C207, 0xEADA7DD6_CDE0EB1E, 0xF57D4F7F_EE6ED178,
    0x06F067AA_72176FBA, 0x0A637DC5_A2C898A6, 0x113F9804_BEF90DAE, 0x1B710B35_131C471B,
    0x28DB77F5_23047D84, 0x32CAAB7B_40C72493, 0x3C9EBE0A_15C9BEBC, 0x431D67C4_9C100D4C,
    0x4CC5D4BE_CB3E42B6, 0x597F299C_FC657E2A, 0x5FCB6FAB_3AD6FAEC, 0x6C44198C_4A475817,
  ]

  static func hash(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    padded += [UInt8](repeating: 0, count: (240 - padded.count % 128) % 128)
    padded += [UInt8](repeating: 0, count: 8) + bytes(of: UInt64(message.count) * 8)
    let end = stride(from: 0, to: padded.count, by: 128).reduce(into: initial) { state, start in
      compress(padded[start..<(start + 128)], into: &state)
    }
    return end.prefix(4).flatMap { bytes(of: $0) }
  }

  private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt64]) {
    var words = stride(from: block.startIndex, to: block.endIndex, by: 8).map { start in
      block[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    for index in 16..<80 {
      let (near, far) = (words[index - 2], words[index - 15])
      words.append(
        words[index - 16] &+ words[index - 7] &+ (turned(far, 1, 8) ^ far >> 7)
          &+ (turned(near, 19, 61) ^ near >> 6))
    }
    var s = state
    for (k, word) in zip(constants, words) {
      let first = s[7] &+ turned(s[4], 14, 18, 41) &+ (s[4] & s[5] ^ ~s[4] & s[6]) &+ k &+ word
      let second = turned(s[0], 28, 34, 39) &+ (s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2])
      s = [first &+ second, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
    }
    state = zip(state, s).map { $0 &+ $1 }
  }

  private static func turned(_ word: UInt64, _ bits: UInt64...) -> UInt64 {
    bits.reduce(0) { $0 ^ (word >> $1 | word << (64 - $1)) }
  }

  private static func bytes(of word: UInt64) -> [UInt8] {
    withUnsafeBytes(of: word.bigEndian) { [UInt8]($0) }
  }
}
