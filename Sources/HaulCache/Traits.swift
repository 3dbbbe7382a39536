#if !Database
  #error("HaulCache needs the trait Database: .package(…, traits: [\"Database\"])")
#endif
